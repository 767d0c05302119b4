export type Sample = { metricName?: string; labels?: Readonly<Record<string, string>>; value: number };

/** A number that Prometheus may want to know, read when it asks. Labels come from fixed sets: no ids, no tenants. */
export type Metric = {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  read(): readonly Sample[] | Promise<readonly Sample[]>;
};

/** A metric with its values; JSON. */
export type Collected = Omit<Metric, 'read'> & { values: readonly Sample[] };
