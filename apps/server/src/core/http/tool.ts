/** Tools by subject; a module that offers tools declares their toolset names here. */
export interface Toolsets {}

export type Toolset = keyof Toolsets;

/** Makes an operation a tool; the hints are stated where the method does not imply them. */
export type ToolMetadata = {
  readonly toolset: Toolset;
  /** For people; the default is the operationId as words. */
  readonly title?: string;
  /** For a model: what the tool does and how to use it. Never text of a tenant. */
  readonly description: string;
  /** It changes nothing, although its method can write. */
  readonly readOnly?: boolean;
  /** It deletes or overwrites data. */
  readonly destructive?: boolean;
  /** A second call with the same arguments changes nothing more. */
  readonly idempotent?: boolean;
  /** It calls outside providers. */
  readonly openWorld?: boolean;
};

/** POST and PUT may add or replace data, so their tools state `destructive`, unless they only read. */
export type WritingToolMetadata = ToolMetadata & ({ readonly destructive: boolean } | { readonly readOnly: true });

/** The effects of a tool, all stated, because clients take a missing hint for the most dangerous value. */
export type ToolHints = { readOnly: boolean; destructive: boolean; idempotent: boolean; openWorld: boolean };

export function toolHints(method: string, metadata: ToolMetadata): ToolHints {
  const readOnly = metadata.readOnly ?? method === 'GET';
  return {
    readOnly,
    destructive: metadata.destructive ?? (!readOnly && (method === 'DELETE' || method === 'PATCH')),
    idempotent: metadata.idempotent ?? (readOnly || method !== 'POST'),
    openWorld: metadata.openWorld ?? false,
  };
}
