import { DUMP_SCHEMA, dump, intCoreTag, intYaml11Tag, NOT_RESOLVED } from 'js-yaml';
import type { JsonValue } from '../model/text/json.ts';
import { yamlSurprise } from './plain-scalars.ts';

/** Text that kubectl (`0b_1`) or YAML 1.2 (`20e770`) reads as a number is quoted, beside the numbers that the library knows. */
const SCHEMA = DUMP_SCHEMA.withTags({
  ...intYaml11Tag,
  resolve: (source, isExplicit, tagName) => {
    if (yamlSurprise(source, false) !== undefined) return 0;
    const old = intYaml11Tag.resolve(source, isExplicit, tagName);
    return old === NOT_RESOLVED ? intCoreTag.resolve(source, isExplicit, tagName) : old;
  },
});

/** Deterministic YAML of a value: members in the order of the value, no line folding, no anchors. */
export function printYaml(value: JsonValue): string {
  return dump(value, { lineWidth: -1, noRefs: true, schema: SCHEMA });
}
