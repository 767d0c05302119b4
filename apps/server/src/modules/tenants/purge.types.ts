/** A table with rows of the tenant; in a tree, `parent` is the column that names the parent row. */
export type PurgedTable = { name: string; key: readonly string[]; parent: string | null };
