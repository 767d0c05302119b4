type Properties = Readonly<Record<string, unknown>>;

/** Names of properties that somebody may see and write; undefined means all of them. */
export type Visible = ReadonlySet<string> | undefined;

export function visiblePart(properties: Properties, visible: Visible): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => visible?.has(name) ?? true));
}

export function namesNotAllowed(properties: Properties, visible: Visible): string[] {
  return Object.keys(properties).filter((name) => !(visible?.has(name) ?? true));
}

/** What a change leaves: who sees all of them replaces them, who sees some of them adds to what is there. */
export function changedProperties(current: Properties, given: Properties, visible: Visible): Record<string, unknown> {
  return visible === undefined ? { ...given } : { ...current, ...given };
}
