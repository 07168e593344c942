import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

export const PROJECT = join(import.meta.dirname, '..', '..', '..');
export const RULE_FILE = join(PROJECT, 'deploy', 'prometheus', 'fleetrelay.rules.yaml');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly rules: readonly AlertRule[];
}

/** The alerts that are shipped: all, or one group. */
export function readAlerts(group?: string): readonly AlertRule[] {
  const { groups } = load(readFileSync(RULE_FILE, 'utf8')) as { readonly groups: readonly Group[] };
  return groups.filter(({ name }) => group === undefined || name === group).flatMap(({ rules }) => rules);
}

/** Names of our metrics in an expression or a text. */
export function metricsNamedIn(text: string): readonly string[] {
  return [...new Set(text.match(/\b(?:fleetrelay|relay_(?:push|pull))_[a-z0-9_]+/g) ?? [])];
}
