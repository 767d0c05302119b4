type Properties = Readonly<Record<string, unknown>>;

/** Names of the properties that a caller may read and write; undefined means all of them. */
export type Visible = ReadonlySet<string> | undefined;

export function visiblePart(properties: Properties, visible: Visible): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => visible?.has(name) ?? true));
}

export function namesNotAllowed(properties: Properties, visible: Visible): string[] {
  return Object.keys(properties).filter((name) => !(visible?.has(name) ?? true));
}

/** A caller that sees all properties replaces them; a caller that sees some of them adds to the stored ones. */
export function changedProperties(current: Properties, given: Properties, visible: Visible): Record<string, unknown> {
  return visible === undefined ? { ...given } : { ...current, ...given };
}
