import { boolCoreTag, floatCoreTag, intCoreTag, NOT_RESOLVED, nullCoreTag } from 'js-yaml';
import type { FindingReason } from '../model/diagnostic.ts';

/** The value of a plain (unquoted) scalar; `message` is the predicate of a sentence about a scalar that JSON cannot hold. */
export type PlainScalar =
  | { readonly ok: true; readonly value: null | boolean | number | string }
  | { readonly ok: false; readonly reason: FindingReason; readonly message: string };

/** The scalars that may be anything but text. All others skip the four resolvers. */
const MAYBE_TYPED = /^(?:$|[-+.0-9~]|(?:null|Null|NULL|true|True|TRUE|false|False|FALSE)$)/;
const FLOAT_BEYOND_RANGE = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$/;

/** Resolves a plain scalar by the core schema of YAML 1.2. */
export function resolvePlain(text: string): PlainScalar {
  if (!MAYBE_TYPED.test(text)) return { ok: true, value: text };
  const empty = nullCoreTag.resolve(text, false, nullCoreTag.tagName);
  if (empty !== NOT_RESOLVED) return { ok: true, value: empty };
  const truth = boolCoreTag.resolve(text, false, boolCoreTag.tagName);
  if (truth !== NOT_RESOLVED) return { ok: true, value: truth };
  const whole = intCoreTag.resolve(text, false, intCoreTag.tagName);
  if (whole !== NOT_RESOLVED) return number(whole, true);
  const float = floatCoreTag.resolve(text, false, floatCoreTag.tagName);
  if (float !== NOT_RESOLVED) return number(float, false);
  return FLOAT_BEYOND_RANGE.test(text) ? number(Number(text), false) : { ok: true, value: text };
}

function number(value: number, whole: boolean): PlainScalar {
  if (!Number.isFinite(value)) {
    return { ok: false, reason: 'NumberNotFinite', message: 'is a number that JSON cannot hold' };
  }
  if (whole && !Number.isSafeInteger(value)) {
    return { ok: false, reason: 'NumberTooLarge', message: 'is too large a number to be kept exactly' };
  }
  // JSON has no -0.
  return { ok: true, value: value === 0 ? 0 : value };
}

/** The warning for a plain scalar that YAML 1.1 (kubectl and most other tools) reads differently. */
export interface YamlSurprise {
  readonly message: string;
  readonly hint: string;
}

/** The warning without the scalar, for files with Secrets. */
export const unquotedSurprise: YamlSurprise = {
  message: 'tools that read YAML 1.1 read this value differently',
  hint: 'quote it if text is meant',
};

/** Everything that the expressions below match, and little else. */
const SUSPECT = /^(?:[-+0-9]|(?:[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$)/;
const BOOLEAN_11 = /^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$/;
const OCTAL_11 = /^[-+]?0[0-7_]+$/;
const OCTAL_12 = /^[-+]?0o[0-7]+$/;
const BINARY_11 = /^[-+]?0b[01_]+$/;
const UNDERSCORES_11 = /^[-+]?(?:0x[0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)$/;
const SEXAGESIMAL_11 = /^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;

/** The warning for a plain scalar; undefined: YAML 1.1 reads it the same. A bare `y` or `n` as a key gets no warning. */
export function yamlSurprise(text: string, isKey: boolean): YamlSurprise | undefined {
  if (!SUSPECT.test(text)) return undefined;
  const surprise = (here: string, there: string, hint: string): YamlSurprise => ({
    message: `${text} is ${here} here, but ${there} to tools that read YAML 1.1`,
    hint,
  });
  if (BOOLEAN_11.test(text)) {
    if (isKey && text.length === 1) return undefined;
    const truth = /^(?:y|yes|on)$/i.test(text);
    return surprise('text', String(truth), `write ${truth}, or "${text}" in quotes`);
  }
  if (OCTAL_11.test(text)) {
    const octal = Number.parseInt(text.replaceAll('_', ''), 8);
    const here = text.includes('_') ? 'text' : `the number ${Number(text)}`;
    const hint = `write ${octal} if the octal number is meant, or quote it if text is meant`;
    return surprise(here, `the octal number ${octal}`, hint);
  }
  const plain = 'write the plain number, or quote it if text is meant';
  if (OCTAL_12.test(text)) return surprise('an octal number', 'text', plain);
  if (BINARY_11.test(text)) return surprise('text', 'a binary number', plain);
  if (text.includes('_') && UNDERSCORES_11.test(text)) return surprise('text', 'a number', plain);
  return SEXAGESIMAL_11.test(text) ? surprise('text', 'a number in base 60', plain) : undefined;
}
