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

/** Labels of an object as it is written; one that is no text is none. */
export type Labels = Readonly<Record<string, unknown>>;

/** Whether the labels match all parts of the selector. */
export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(selector.matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    selector.matchExpressions.every((requirement) => matchesRequirement(requirement, labels))
  );
}

/** Whether the labels match one set-based requirement. */
export function matchesRequirement({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = labelOf(labels, key);
  const isListed = value !== undefined && values.includes(value);
  switch (operator) {
    case 'In':
      return isListed;
    case 'NotIn':
      return !isListed;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

/** The value of a label; undefined: there is none. */
export function labelOf(labels: Labels, key: string): string | undefined {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
