/** Tools by subject; a module that offers tools declares their toolset names here. */
export interface Toolsets {}

export type Toolset = keyof Toolsets;

/** What makes an operation a tool, and what of its hints does not follow from its method. */
export type ToolMetadata = {
  readonly toolset: Toolset;
  /** For people; defaults to the words of the operation's name. */
  readonly title?: string;
  /** For a model: what it does and what to know before. Never anything that a tenant wrote. */
  readonly description: string;
  /** Changes nothing, although its method can write. */
  readonly readOnly?: boolean;
  /** Loses something that was there before. */
  readonly destructive?: boolean;
  /** Doing it again with the same arguments changes nothing more. */
  readonly idempotent?: boolean;
  /** Reaches providers outside of the service. */
  readonly openWorld?: boolean;
};

/**
 * POST and PUT add to what there is or replace it, and which of both the method does not tell: tools of them that do not only
 * read say whether they lose something.
 */
export type WritingToolMetadata = ToolMetadata & ({ readonly destructive: boolean } | { readonly readOnly: true });

/** What a tool does to the world, each told explicitly: what is left out counts as the worst. */
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
