import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What a metric is, for people. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

/** Values of labels and what is measured under them. */
export type Samples<Label extends string> = () => Iterable<
  readonly [labels: Readonly<Record<Label, string>>, value: number]
>;

/** Metrics of one process, in a registry of their own. */
export interface MetricSet {
  readonly registry: Registry;
  readonly definitions: readonly MetricDefinition[];
  /** Its samples are worked out anew at each scrape, so that what is gone leaves none behind. */
  gauge<Label extends string>(name: string, help: string, labels: readonly Label[], samples: Samples<Label>): void;
  /** Somebody else counts: shown as it is at each scrape. */
  total<Label extends string>(name: string, help: string, labels: readonly Label[], samples: Samples<Label>): void;
  /** Counts by itself. Without labels it is there from the start, at zero. */
  counter<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
  ): (labels: Readonly<Record<Label, string>>, by?: number) => void;
  histogram(name: string, help: string, buckets: readonly number[]): (value: number) => void;
}

/** `common`: labels that every metric has. */
export function createMetricSet(common: Readonly<Record<string, string>> = {}): MetricSet {
  const registry = new Registry();
  registry.setDefaultLabels(common);
  const definitions: MetricDefinition[] = [];
  const define = <Label extends string>(
    type: MetricDefinition['type'],
    name: string,
    help: string,
    labels: readonly Label[],
  ) => {
    definitions.push({ name, type, help, labels: [...labels, ...Object.keys(common)] });
    return { name, help, labelNames: [...labels], registers: [registry] };
  };
  return {
    registry,
    definitions,
    gauge(name, help, labels, samples) {
      new Gauge({
        ...define('gauge', name, help, labels),
        collect() {
          // Without labels, resetting would leave a zero.
          if (labels.length === 0) this.remove();
          else this.reset();
          for (const [values, value] of samples()) this.set(values, value);
        },
      });
    },
    total(name, help, labels, samples) {
      new Counter({
        ...define('counter', name, help, labels),
        collect() {
          this.reset();
          for (const [values, value] of samples()) this.inc(values, value);
        },
      });
    },
    counter(name, help, labels) {
      const made = new Counter(define('counter', name, help, labels));
      return (values, by = 1) => made.inc(values, by);
    },
    histogram(name, help, buckets) {
      const made = new Histogram({ ...define('histogram', name, help, []), buckets: [...buckets] });
      return (value) => made.observe(value);
    },
  };
}

/** What is so, as a number. */
export function flag(value: boolean): number {
  return value ? 1 : 0;
}

/** Keeps a label whose values others choose from growing without end: after so many different ones it is `Other`. */
export function createBoundedLabel(most: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= most) return 'Other';
    known.add(value);
    return value;
  };
}
