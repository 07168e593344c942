import { type CelFunc, CelScalar, celFunc, celList, celMethod, listType } from '@bufbuild/cel';
import { RE2JS } from 're2js';
import {
  dns1035LabelRule,
  dnsLabelRule,
  dnsSubdomainRule,
  labelValueRule,
  qualifiedNameRule,
} from '../../../rules/shared/names.ts';
import type { Meter } from '../../../values/meter.ts';
import type { OpaqueType } from './opaque.ts';

/** The longest pattern that is compiled. */
const MAX_PATTERN = 2_000;

/** The functions of patterns, which match in linear time, and `split` with a limit. */
export function textFunctions(meter: Meter): readonly CelFunc[] {
  const { BOOL, INT, STRING } = CelScalar;
  const TEXTS = listType(STRING);
  const compiled = new Map<string, RE2JS>();
  const compile = (pattern: string, text: string): RE2JS => {
    if (pattern.length > MAX_PATTERN) throw new Error(`the pattern has more than ${MAX_PATTERN} characters`);
    meter.charge(1 + (text.length * pattern.length) / 64);
    let found = compiled.get(pattern);
    if (found === undefined) {
      meter.charge(pattern.length);
      found = RE2JS.compile(pattern);
      compiled.set(pattern, found);
    }
    return found;
  };
  const findAll = (text: string, pattern: string, limit: number): string[] => {
    const matcher = compile(pattern, text).matcher(text);
    const found: string[] = [];
    while ((limit < 0 || found.length < limit) && matcher.find()) found.push(matcher.group() ?? '');
    return found;
  };
  return [
    celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
      return compile(pattern, this).matcher(this).find();
    }),
    celFunc('matches', [STRING, STRING], BOOL, (text, pattern) => compile(pattern, text).matcher(text).find()),
    celMethod('find', STRING, [STRING], STRING, function (pattern) {
      return findAll(this, pattern, 1)[0] ?? '';
    }),
    celMethod('findAll', STRING, [STRING], TEXTS, function (pattern) {
      return celList(findAll(this, pattern, -1));
    }),
    celMethod('findAll', STRING, [STRING, INT], TEXTS, function (pattern, limit) {
      return celList(findAll(this, pattern, Number(limit)));
    }),
    celMethod('split', STRING, [STRING, INT], TEXTS, function (separator, limit) {
      const parts = this.split(separator);
      const most = Number(limit);
      if (most < 0 || parts.length <= most) return celList(parts);
      return celList(most === 0 ? [] : [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)]);
    }),
  ];
}

/** A form with the rule that a text breaks. */
type Form = (text: string) => string | undefined;

const prefix =
  (rule: Form): Form =>
  (text) =>
    // Kubernetes adds characters to the prefix of a generated name.
    rule(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const matching =
  (pattern: RegExp, rule: string): Form =>
  (text) =>
    pattern.test(text) ? undefined : rule;

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;

const NAMED: Readonly<Record<string, Form>> = {
  dns1123Label: dnsLabelRule,
  dns1123Subdomain: dnsSubdomainRule,
  dns1035Label: dns1035LabelRule,
  qualifiedName: qualifiedNameRule,
  dns1123LabelPrefix: prefix(dnsLabelRule),
  dns1123SubdomainPrefix: prefix(dnsSubdomainRule),
  dns1035LabelPrefix: prefix(dns1035LabelRule),
  labelValue: labelValueRule,
  uuid: matching(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i, 'must be a UUID'),
  byte: matching(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'must be base64'),
  date: (text) => (isDate(text) ? undefined : 'must be a date'),
  datetime: matching(/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?$/, 'must be a time'),
};

/** The named forms of texts. `uri` needs `isUrl`. */
export function formatFunctions(
  { type, make, textOf }: OpaqueType,
  isUrl: (text: string) => boolean,
): readonly CelFunc[] {
  const { DYN, STRING } = CelScalar;
  const forms: Readonly<Record<string, Form>> = {
    ...NAMED,
    uri: (text) => (isUrl(text) ? undefined : 'must be a URL'),
  };
  return [
    celFunc('format.named', [STRING], listType(type), (name) =>
      celList(Object.hasOwn(forms, name) ? [make(name)] : []),
    ),
    ...Object.keys(forms).map((name) => celFunc(`format.${name}`, [], type, () => make(name))),
    celMethod('validate', type, [STRING], listType(DYN), function (text) {
      const broken = forms[textOf(this)]?.(text);
      return celList(broken === undefined ? [] : [celList([broken])]);
    }),
  ];
}
