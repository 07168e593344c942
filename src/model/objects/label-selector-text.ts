import { ok, problem, type Result } from '../values/result.ts';
import type { LabelRequirement, LabelSelector } from './label-selector.ts';

const LONGEST = 4_096;
const KEY = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?`;
const VALUE = '(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?';
const EQUALS = new RegExp(`^(${KEY})\\s*(==?|!=)\\s*(${VALUE})$`);
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);
const ONE_VALUE = new RegExp(`^${VALUE}$`);

/** Parses a selector as kubectl writes it: `a=b,c!=d,e in (x,y),f notin (z),g,!h`. All parts must match. */
export function parseLabelSelector(text: string): Result<LabelSelector> {
  if (text.length > LONGEST) return problem(`A selector has at most ${LONGEST} characters`);
  const matchExpressions: LabelRequirement[] = [];
  // A comma between parentheses separates values.
  for (const part of text.split(/,(?![^(]*\))/)) {
    const requirement = requirementIn(part.trim());
    if (requirement === undefined) {
      return problem(
        `${JSON.stringify(part.trim())} is none of KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY, !KEY`,
      );
    }
    matchExpressions.push(requirement);
  }
  return ok({ matchLabels: {}, matchExpressions });
}

function requirementIn(part: string): LabelRequirement | undefined {
  const [, key = '', sign, value = ''] = EQUALS.exec(part) ?? [];
  if (sign !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  const [, ofSet = '', word, list = ''] = SET.exec(part) ?? [];
  if (word !== undefined) {
    const values = list.split(',').map((each) => each.trim());
    return values.every((each) => ONE_VALUE.test(each))
      ? { key: ofSet, operator: word === 'in' ? 'In' : 'NotIn', values }
      : undefined;
  }
  const [, not, name] = EXISTS.exec(part) ?? [];
  return name === undefined ? undefined : { key: name, operator: not === '!' ? 'DoesNotExist' : 'Exists', values: [] };
}
