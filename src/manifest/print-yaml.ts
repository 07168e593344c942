import { dump } from 'js-yaml';
import type { JsonValue } from '../model/json.ts';

/** Deterministic YAML of a value: members in the order of the value, no line folding, no anchors. */
export function printYaml(value: JsonValue): string {
  return dump(value, { lineWidth: -1, noRefs: true });
}
