import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Name, type, help text and labels of a metric. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

/** Returns the values of the labels and of the metric. */
export type Samples<Label extends string> = () => Iterable<
  readonly [labels: Readonly<Record<Label, string>>, value: number]
>;

type Define = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  samples: Samples<Label>,
) => void;

/** Metrics of one process, in a registry of their own. */
export interface MetricSet {
  readonly registry: Registry;
  readonly definitions: readonly MetricDefinition[];
  /** Defines a gauge. Each scrape shows the samples of that moment and no earlier ones. */
  readonly gauge: Define;
  /** Defines a counter that is counted elsewhere. Each scrape shows the samples of that moment. */
  readonly total: Define;
  /** Defines a counter and returns what adds to it. Without labels, it starts at 0. */
  counter<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
  ): (labels: Readonly<Record<Label, string>>, by?: number) => void;
  /** Defines a histogram and returns what observes a value. */
  histogram(name: string, help: string, buckets: readonly number[]): (value: number) => void;
}

/** `common`: labels that every metric has. */
export function createMetricSet(common: Readonly<Record<string, string>> = {}): MetricSet {
  const registry = new Registry();
  registry.setDefaultLabels(common);
  const definitions: MetricDefinition[] = [];
  const define = (type: MetricDefinition['type'], name: string, help: string, labels: readonly string[]) => {
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
          // Without labels, reset() would leave a sample with the value 0.
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

/** Returns 1 for true, 0 for false. */
export function flag(value: boolean): number {
  return value ? 1 : 0;
}

/** Limits the values of a label that peers choose: after `most` different ones, further ones are `Other`. */
export function createBoundedLabel(most: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= most) return 'Other';
    known.add(value);
    return value;
  };
}
