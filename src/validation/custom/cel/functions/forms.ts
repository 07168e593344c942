import { CelScalar, celFunc, celList, listType } from '@bufbuild/cel';
import {
  dns1035LabelRule,
  dnsLabelRule,
  dnsSubdomainRule,
  labelValueRule,
  qualifiedNameRule,
} from '../../../rules/shared/names.ts';
import { constant, costing, type MeteredFunction, method, parsing } from './costs.ts';
import type { OpaqueType } from './opaque.ts';

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

/** Judging a text by a form evaluates a few regular expressions. */
const STEPS_OF_FORM = 20;

/** The named forms of texts. `uri` needs `isUrl`. */
export function formatFunctions(
  { type, make, textOf }: OpaqueType,
  isUrl: (text: string) => boolean,
): readonly MeteredFunction[] {
  const { DYN, STRING } = CelScalar;
  const forms: Readonly<Record<string, Form>> = {
    ...NAMED,
    uri: (text) => (isUrl(text) ? undefined : 'must be a URL'),
  };
  return [
    ...costing(
      constant,
      celFunc('format.named', [STRING], listType(type), (name) =>
        celList(Object.hasOwn(forms, name) ? [make(name)] : []),
      ),
      ...Object.keys(forms).map((name) => celFunc(`format.${name}`, [], type, () => make(name))),
    ),
    ...costing(
      parsing(STEPS_OF_FORM),
      method('validate', type, [STRING], listType(DYN), (self, text) => {
        const broken = forms[textOf(self)]?.(text);
        return celList(broken === undefined ? [] : [celList([broken])]);
      }),
    ),
  ];
}
