/** A set-based label requirement, as in Kubernetes. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

/** A label selector: all parts must match. The empty selector matches everything. */
export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly LabelRequirement[];
}

/** Whether the labels match all parts of the selector. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, unknown>>): boolean {
  return (
    Object.entries(selector.matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    selector.matchExpressions.every((requirement) => matchesRequirement(requirement, labels))
  );
}

function matchesRequirement(
  { key, operator, values }: LabelRequirement,
  labels: Readonly<Record<string, unknown>>,
): boolean {
  const value = labelOf(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

function labelOf(labels: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
