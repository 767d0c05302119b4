/** The owner of waiting work: a tenant (or the address of an unknown client) and a principal within it. */
export type Flow = { readonly tenant: string; readonly principal: string };

/** Waiting work, served fairly: tenants take equal shares, and the principals of a tenant take equal shares of its share. */
export type FairQueue<Item extends object> = {
  size(): number;
  /** Number of items that wait for one tenant, or for one of its principals. */
  sizeOf(tenant: string, principal?: string): number;
  /** The oldest item of the flow with the most items: of all tenants, or of one. */
  fullest(tenant?: string): Item | undefined;
  /** @param cost share that the item takes, at least 1, which is the default */
  push(flow: Flow, item: Item, cost?: number): void;
  /**
   * Removes and returns the next item.
   * @param mayServe false for a tenant that already holds its share; its items keep waiting
   */
  next(mayServe?: (tenant: string) => boolean): Item | undefined;
  /** @returns whether the item was waiting */
  remove(item: Item): boolean;
};

type Waiting<Item> = { item: Item; flow: Flow; cost: number };
type Principal<Item> = { items: Set<Waiting<Item>>; deficit: number };
type Tenant<Item> = { principals: Map<string, Principal<Item>>; deficit: number; size: number };

const quantum = 1;

/**
 * Deficit round robin on two levels (Shreedhar and Varghese, "Efficient Fair Queueing Using Deficit Round-Robin", 1995):
 * constant time per item, independent of the number of tenants as long as costs stay near the quantum.
 */
export function createFairQueue<Item extends object>(): FairQueue<Item> {
  const tenants = new Map<string, Tenant<Item>>();
  const waiting = new Map<Item, Waiting<Item>>();

  function take(entry: Waiting<Item>): void {
    const tenant = tenants.get(entry.flow.tenant)!;
    const principal = tenant.principals.get(entry.flow.principal)!;
    waiting.delete(entry.item);
    principal.items.delete(entry);
    tenant.size -= 1;
    if (principal.items.size === 0) tenant.principals.delete(entry.flow.principal);
    if (tenant.size === 0) tenants.delete(entry.flow.tenant);
  }

  /** Charges both levels and moves the flow behind the others. */
  function serve(key: string, tenant: Tenant<Item>): Item {
    const [name, principal] = nextPrincipal(tenant);
    const entry = firstOf(principal.items);
    principal.deficit -= entry.cost;
    tenant.deficit -= entry.cost;
    take(entry);
    if (principal.items.size > 0) settle(tenant.principals, name, principal);
    if (tenant.size > 0) settle(tenants, key, tenant);
    return entry.item;
  }

  return {
    size: () => waiting.size,
    sizeOf: (tenant, principal) => sizeIn(tenants.get(tenant), principal),
    fullest: (tenant) =>
      oldestOf(tenant === undefined ? largest(tenants.values(), ({ size }) => size) : tenants.get(tenant)),
    push(flow, item, cost = 1) {
      const entry = { item, flow, cost };
      add(tenants, entry);
      waiting.set(item, entry);
    },
    next(mayServe = () => true) {
      let skipped = 0;
      while (skipped < tenants.size) {
        const [key, tenant] = firstOf(tenants);
        if (!mayServe(key)) {
          rotate(tenants, key, tenant);
          skipped += 1;
          continue;
        }
        if (tenant.deficit >= costOfNext(tenant)) return serve(key, tenant);
        settle(tenants, key, tenant);
        skipped = 0;
      }
      return undefined;
    },
    remove(item) {
      const entry = waiting.get(item);
      if (entry !== undefined) take(entry);
      return entry !== undefined;
    },
  };
}

function costOfNext<Item>(tenant: Tenant<Item>): number {
  return firstOf(nextPrincipal(tenant)[1].items).cost;
}

/** The first principal whose deficit covers its next item; the others earn a quantum on the way. */
function nextPrincipal<Item>({ principals }: Tenant<Item>): [string, Principal<Item>] {
  for (;;) {
    const [name, principal] = firstOf(principals);
    if (principal.deficit >= firstOf(principal.items).cost) return [name, principal];
    settle(principals, name, principal);
  }
}

/** Earns a quantum and goes behind the others. */
function settle<Value extends { deficit: number }>(ring: Map<string, Value>, key: string, value: Value): void {
  value.deficit += quantum;
  rotate(ring, key, value);
}

function rotate<Value>(ring: Map<string, Value>, key: string, value: Value): void {
  ring.delete(key);
  ring.set(key, value);
}

function firstOf<Value>(values: Iterable<Value>): Value {
  for (const value of values) return value;
  throw new Error('a flow without items must not be kept');
}

function add<Item>(tenants: Map<string, Tenant<Item>>, entry: Waiting<Item>): void {
  const { flow } = entry;
  const tenant = getOrAdd(tenants, flow.tenant, () => ({ principals: new Map(), deficit: quantum, size: 0 }));
  const principal = getOrAdd(tenant.principals, flow.principal, () => ({ items: new Set(), deficit: quantum }));
  principal.items.add(entry);
  tenant.size += 1;
}

function sizeIn<Item>(tenant: Tenant<Item> | undefined, principal?: string): number {
  if (principal === undefined) return tenant?.size ?? 0;
  return tenant?.principals.get(principal)?.items.size ?? 0;
}

function oldestOf<Item>(tenant: Tenant<Item> | undefined): Item | undefined {
  const principal = tenant && largest(tenant.principals.values(), ({ items }) => items.size);
  return principal && firstOf(principal.items).item;
}

function largest<Value>(values: Iterable<Value>, sizeOf: (value: Value) => number): Value | undefined {
  let found: Value | undefined;
  for (const value of values) if (found === undefined || sizeOf(value) > sizeOf(found)) found = value;
  return found;
}

function getOrAdd<Value>(map: Map<string, Value>, key: string, create: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}
