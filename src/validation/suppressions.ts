import { EVENT_DOCUMENT, EVENT_SCALAR } from 'js-yaml';
import type { YamlEvents } from '../manifest/compose-documents.ts';
import { offsetOf } from '../manifest/event-offset.ts';
import { parseYamlEvents } from '../manifest/parse-yaml.ts';
import { createLineIndex } from '../manifest/positions.ts';
import { didYouMean } from '../manifest/problem.ts';
import { mayHoldSecret } from '../manifest/secret-text.ts';
import { type Diagnostic, diagnosticOf, type FindingCode, type FindingReason } from '../model/fleet/diagnostic.ts';
import { findings } from '../model/fleet/findings.ts';
import { quote } from '../model/fleet/ids.ts';

/** A comment that suppresses findings. */
interface Suppression {
  readonly codes: readonly { readonly code: string; readonly offset: number }[];
  readonly reason: string;
  readonly offset: number;
  /** The line, from 1, whose findings it suppresses; undefined: nothing follows it. */
  readonly line: number | undefined;
  /** It stands before a document and suppresses the findings of all its lines. */
  readonly isForDocument: boolean;
}

/** What suppressions are judged by. */
export interface SuppressionOptions {
  /** Whether this run has looked for findings of the code; all unless set. A suppression of another code is not unused. */
  readonly isChecked?: (code: FindingCode) => boolean;
}

/**
 * Removes the findings of one file that its `# fleetrelay-ignore: CODE[, CODE...] REASON` comments suppress, and adds
 * findings about these comments. A comment at the end of a line holds for that line, a comment on a line of its own for the
 * next line with content, or for a complete document if it stands before its first line. A finding that makes the text
 * itself unreadable is never suppressed. A comment inside a string is text.
 *
 * @param path of the file, for the added findings
 * @param text of the file
 * @param diagnostics all findings of the file
 */
export function suppress(
  path: string,
  text: string,
  diagnostics: readonly Diagnostic[],
  { isChecked = () => true }: SuppressionOptions = {},
): readonly Diagnostic[] {
  if (!text.includes(MARK)) return diagnostics;
  const source = text.replace(/^\ufeff/, '');
  const events = eventsOf(source);
  // A text that cannot be parsed may have comments anywhere.
  if (events === undefined) return diagnostics;
  const { position } = createLineIndex(source);
  const added: Diagnostic[] = [];
  const roots = rootLines(source, events, position);
  const suppressions = suppressionsIn(source, events, roots);
  const targets = new Set(
    suppressions.flatMap((suppression) => suppression.codes.map(({ code }) => targetOf(suppression, code))),
  );
  const used = new Set<string>();
  function report(
    severity: Diagnostic['severity'],
    reason: FindingReason,
    offset: number,
    message: string,
    hint: string,
  ) {
    added.push(diagnosticOf({ severity, reason, message, hint, at: { path, ...position(offset) } }));
  }
  const kept = diagnostics.filter(({ code, at }) => {
    if (!canSuppress(code) || at?.line === undefined) return true;
    const root = roots[lastAtOrBefore(roots, at.line)] ?? 0;
    const around = [
      targetOf({ line: at.line, isForDocument: false }, code),
      targetOf({ line: root, isForDocument: true }, code),
    ];
    const matching = around.filter((target) => targets.has(target));
    for (const each of matching) used.add(each);
    return matching.length === 0;
  });
  for (const suppression of suppressions) {
    const { codes, reason, offset } = suppression;
    if (codes.length === 0) report('error', 'BadSuppression', offset, 'the comment names no code', FORM);
    else if (reason === '') {
      report('error', 'SuppressionWithoutReason', offset, 'the comment gives no reason for what it suppresses', FORM);
    }
    for (const { code, offset: at } of codes) {
      if (!isCode(code)) {
        // The mark may stand in a value that is indented wrongly.
        if (mayHoldSecret(source)) report('error', 'BadSuppression', at, 'this is no code of a finding', FORM);
        else report('error', 'BadSuppression', at, `${quote(code)} is no code of a finding`, hintOn(code));
      } else if (!canSuppress(code)) {
        const message = `${code} is about a file that cannot be read, which cannot be suppressed`;
        report('error', 'BadSuppression', at, message, 'correct the file, or list it in .fleetrelayignore');
      } else if (!used.has(targetOf(suppression, code)) && isChecked(code)) {
        report('warning', 'UnusedSuppression', at, `there is no finding ${code} here to suppress`, 'remove it');
      }
    }
  }
  return [...kept, ...added];
}

const MARK = 'fleetrelay-ignore';
const FORM = 'write `# fleetrelay-ignore: FR2003 REASON`';
const COMMENT = /#[ \t]*fleetrelay-ignore(?![\w-])[ \t]*:?[ \t]*([^\r\n]*)/g;
const CODES = /^[^\s,]+(?:[ \t]*,[ \t]*[^\s,]+)*/;

const codes = new Map<string, FindingReason>(
  Object.entries(findings).map(([reason, { code }]) => [code, reason as FindingReason]),
);

function isCode(code: string): code is FindingCode {
  return codes.has(code);
}

/**
 * Whether a comment can suppress findings of a code: not those that make a file unreadable as text, or as manifests at all,
 * nor those about suppressions.
 */
export function canSuppress(code: string): boolean {
  return !code.startsWith('FR10') || code === findings.YamlVersionsDiffer.code;
}

function hintOn(code: string): string {
  const reason = [...codes].find(([, name]) => name.toLowerCase() === code.toLowerCase());
  return reason === undefined ? (didYouMean(code, codes.keys()) ?? FORM) : `write ${reason[0]}`;
}

/** What a suppression of a code is about. */
function targetOf({ line, isForDocument }: Pick<Suppression, 'line' | 'isForDocument'>, code: string): string {
  return `${isForDocument ? 'document' : 'line'} ${line} ${code}`;
}

function eventsOf(text: string): YamlEvents | undefined {
  try {
    return parseYamlEvents(text, 100);
  } catch {
    return undefined;
  }
}

function suppressionsIn(text: string, events: YamlEvents, roots: readonly number[]): readonly Suppression[] {
  const scalars = events.filter((event) => event.type === EVENT_SCALAR).filter(({ valueStart }) => valueStart >= 0);
  const starts = scalars.map(({ valueStart }) => valueStart);
  const { position } = createLineIndex(text);
  const lines = text.split('\n');
  const next = nextLines(lines);
  return [...text.matchAll(COMMENT)].flatMap(({ index, 0: comment, 1: rest = '' }) => {
    const { line, column } = position(index);
    const before = (lines[line - 1] ?? '').slice(0, column - 1);
    const isInString = (scalars[lastAtOrBefore(starts, index)]?.valueEnd ?? 0) > index;
    if (!/(?:^|[ \t])$/.test(before) || isInString) return [];
    const [list = ''] = CODES.exec(rest) ?? [];
    const start = index + comment.length - rest.length;
    const codes = [...list.matchAll(/[^\s,]+/g)].map((word) => ({ code: word[0], offset: start + word.index }));
    const isAlone = /^(?:---)?[ \t]*$/.test(before);
    const about = isAlone ? next[line - 1] : line;
    const isForDocument = isAlone && roots[lastAtOrBefore(roots, about ?? 0)] === about;
    return [{ codes, reason: rest.slice(list.length).trim(), offset: index, line: about, isForDocument }];
  });
}

/** The index of the last of ascending numbers that is at most `value`; -1 if there is none. */
function lastAtOrBefore(numbers: readonly number[], value: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The first lines of the documents with content, in order. */
function rootLines(
  text: string,
  events: YamlEvents,
  position: ReturnType<typeof createLineIndex>['position'],
): readonly number[] {
  return events.flatMap((event, index) => {
    const root = events[index + 1];
    const isEmpty = root?.type === EVENT_SCALAR && root.valueStart < 0;
    return event.type !== EVENT_DOCUMENT || root === undefined || isEmpty ? [] : [position(offsetOf(text, root)).line];
  });
}

/** For each line, from 0: the next line after it that has content, from 1; undefined if there is none. */
function nextLines(lines: readonly string[]): readonly (number | undefined)[] {
  let next: number | undefined;
  const found: (number | undefined)[] = [];
  for (let line = lines.length; line >= 1; line -= 1) {
    found.push(next);
    if (!WITHOUT_CONTENT.test(lines[line - 1] ?? '')) next = line;
  }
  return found.reverse();
}

/** An empty line, a comment, a directive, or the beginning or end of a document. */
const WITHOUT_CONTENT = /^(?:%.*|\s*(?:(?:---|\.\.\.)\s*)?(?:#.*)?)\r?$/;
