import { createRequire } from 'node:module';
import type * as Re2 from 're2js';
import type { FieldProblem } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../../model/text/json.ts';
import { MOST_INSTRUCTIONS, mostInstructions } from '../../../model/text/pattern-size.ts';
import { enumNameOf } from '../../../model/text/proto-json.ts';
import { itemsOf } from './inbounds.ts';
import { fieldName, violation } from './violations.ts';

/** Checks the metrics of a data plane that is no gateway, if there are any. Kuma does not check the metrics of gateways. */
export function checkMetrics(metrics: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  if (!isJsonObject(metrics)) return;
  if (textOf(metrics.type) !== 'prometheus') {
    const rule = 'unknown backend type. Available backends: "prometheus"';
    problems.push(violation('WrongValue', [...at, 'type'], rule));
  } else if (isJsonObject(metrics.conf)) checkConf(metrics.conf, [...at, 'conf'], problems);
}

/** As in Kuma, the first of these problems hides the others; only names of applications are all checked. */
function checkConf(conf: JsonObject, at: FieldPath, problems: FieldProblem[]): void {
  const wrong = wrongField(conf, CONF, at);
  if (wrong !== undefined) {
    const rule = `could not parse config: ${fieldName(wrong.at)} must be ${wrong.must}`;
    problems.push(violation('WrongType', wrong.at, rule, fieldName(at)));
    return;
  }
  const { skipMTLS, tls, envoy, aggregate } = conf;
  if (skipMTLS !== undefined && isJsonObject(tls) && enumNameOf(tls.mode ?? 0, MODES) !== meaningOf(skipMTLS)) {
    problems.push(violation('WrongChoice', at, 'skipMTLS and tls configuration cannot be defined together'));
    return;
  }
  const problem = patternProblem(textOf(objectOf(envoy).filterRegex));
  if (problem !== undefined) {
    const rule = `provided regexp isn't correct: ${problem}`;
    problems.push(violation('WrongFormat', [...at, 'envoy', 'filterRegex'], rule));
    return;
  }
  const used = new Set<string>();
  for (const [index, application] of itemsOf(aggregate)) {
    const name = textOf(application.name);
    if (used.has(name)) {
      const rule = `duplicate entry: ${name}, values have to be unique`;
      problems.push(violation('DuplicateName', [...at, 'aggregate', index, 'name'], rule));
    }
    used.add(name);
  }
}

const MODES = { 0: 'activeMTLSBackend', 1: 'providedTLS', 2: 'disabled' } as const;

/** The mode of `tls` that says the same. */
function meaningOf(skipMTLS: JsonValue): (typeof MODES)[0 | 2] {
  return skipMTLS === true ? 'disabled' : 'activeMTLSBackend';
}

/** What a field holds in the JSON form of Protocol Buffers. */
type FieldType = keyof typeof SCALARS | Message | readonly [Message];
/** Its fields; others are ignored. */
interface Message {
  readonly [field: string]: FieldType;
}

const SCALARS = {
  text: { must: 'text', is: (value: JsonValue) => typeof value === 'string' },
  truth: { must: 'true or false', is: (value: JsonValue) => typeof value === 'boolean' },
  uint32: { must: 'a whole number from 0 to 4294967295', is: isUint32 },
  texts: {
    must: 'a mapping of text to text',
    is: (value: JsonValue) => isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string'),
  },
  mode: {
    must: `${Object.values(MODES).join(', ')}, or a number`,
    is: (value: JsonValue) => (typeof value === 'number' ? isInt32(value) : enumNameOf(value, MODES) !== undefined),
  },
} as const;

const CONF: Message = {
  port: 'uint32',
  path: 'text',
  tags: 'texts',
  skipMTLS: 'truth',
  aggregate: [{ name: 'text', port: 'uint32', path: 'text', enabled: 'truth', address: 'text' }],
  envoy: { filterRegex: 'text', usedOnly: 'truth' },
  tls: { mode: 'mode' },
};

function isUint32(value: JsonValue): boolean {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < 2 ** 32;
}

function isInt32(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;
}

/** Finds the first field of a message that Kuma cannot read, and what it must be. */
function wrongField(
  value: JsonValue,
  message: Message,
  at: FieldPath,
): { readonly at: FieldPath; readonly must: string } | undefined {
  if (!isJsonObject(value)) return { at, must: 'a mapping' };
  for (const [field, type] of Object.entries(message)) {
    const member = value[field];
    if (member === undefined) continue;
    const here = [...at, field];
    const wrong = typeof type === 'string' ? wrongScalar(member, type, here) : wrongPart(member, type, here);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function wrongScalar(value: JsonValue, type: keyof typeof SCALARS, at: FieldPath) {
  const { is, must } = SCALARS[type];
  return is(value) ? undefined : { at, must };
}

function wrongPart(value: JsonValue, type: Message | readonly [Message], at: FieldPath) {
  if (!isList(type)) return wrongField(value, type, at);
  if (!Array.isArray(value)) return { at, must: 'a list' };
  for (const [index, item] of value.entries()) {
    const wrong = wrongField(item as JsonValue, type[0], [...at, index]);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function isList(type: Message | readonly [Message]): type is readonly [Message] {
  return Array.isArray(type);
}

/** Why a text is no regular expression of Go; undefined if it is one. A pattern that is too large to be compiled is refused, too. */
function patternProblem(pattern: string): string | undefined {
  if (mostInstructions(pattern) > MOST_INSTRUCTIONS) return 'the pattern is too large';
  try {
    loadRe2().RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Loads the library when the first pattern needs it. The bare `require` lets the bundler make a lazy part of it. */
function loadRe2(): typeof Re2 {
  // biome-ignore lint/style/noCommonJs: decoding is synchronous, so the lazy part cannot be a dynamic import.
  return typeof require === 'function' ? require('re2js') : createRequire(import.meta.url)('re2js');
}
