import { EVENT_DOCUMENT, EVENT_SCALAR, SCALAR_STYLE_DOUBLE_QUOTED, SCALAR_STYLE_SINGLE_QUOTED } from 'js-yaml';
import type { TextProblem, YamlEvents } from './compose-documents.ts';
import { MAX_FINDINGS } from './limits.ts';
import { scanLines } from './line-scan.ts';
import { tabProblem } from './syntax-messages.ts';

/** A text that kubectl reads as JSON, which has other rules. */
const JSON_TEXT = /^\s*\{/;
const MAYBE_REFUSED_TAB = /^[-? ]*\t/m;
const CONTENT_AFTER_MARK = /^---[^\S\n]*[^\s#]/m;
/** The parser reads it as a mark at the beginning of the text only. */
const INDENTED_MARK = /^[ \t]+(?=---(?:\s|$))/;
/** Line breaks of YAML 1.1 alone. */
const OTHER_BREAK = /[\u0085\u2028\u2029]/;
const OTHER_BREAKS = new RegExp(OTHER_BREAK, 'g');

/** The forms of YAML that the parser reads and kubectl refuses, or reads as something else. */
export function formsThatKubectlRefuses(text: string, events: YamlEvents): readonly TextProblem[] {
  const problems: TextProblem[] = [];
  const mark = text.includes('---') ? CONTENT_AFTER_MARK.exec(text) : null;
  if (mark !== null) {
    const message = 'kubectl reads no content on the line of a document mark (---)';
    problems.push(refused(mark.index + mark[0].length - 1, message, 'write the content on the next line'));
  }
  const indent = INDENTED_MARK.exec(text);
  if (indent !== null && events[0]?.type === EVENT_DOCUMENT && events[0].explicitStart) {
    problems.push(refused(indent[0].length, 'a document mark (---) cannot be indented', 'remove the spaces before it'));
  }
  if (/^%(?!YAML|TAG)/.test(text)) problems.push(refused(0, 'kubectl reads no line that begins with %', 'remove it'));
  for (const event of events.slice(1)) {
    if (event.type !== EVENT_DOCUMENT || event.explicitStart) continue;
    const offset = Math.max(0, text.search(/^\.\.\.(?=\s|$)/m));
    problems.push(refused(offset, 'kubectl reads nothing after the end mark (...) of a document', 'write --- instead'));
    break;
  }
  if (JSON_TEXT.test(text)) return problems;
  if (text.includes('\t') && MAYBE_REFUSED_TAB.test(text)) {
    problems.push(...scanLines(text).tabs.slice(0, MAX_FINDINGS).map(tabProblem));
  }
  if (OTHER_BREAK.test(text)) problems.push(...otherBreaks(text, events));
  return problems;
}

function otherBreaks(text: string, events: YamlEvents): readonly TextProblem[] {
  const quoted = events
    .filter((event) => event.type === EVENT_SCALAR)
    .filter(({ style }) => style === SCALAR_STYLE_DOUBLE_QUOTED || style === SCALAR_STYLE_SINGLE_QUOTED);
  /** Of the first quoted scalar that ends after the break: both are in the order of the text. */
  let next = 0;
  return [...text.matchAll(OTHER_BREAKS)]
    .filter(({ index, 0: found }) => {
      while ((quoted[next]?.valueEnd ?? text.length) <= index) next += 1;
      return found === '\u0085' || (quoted[next]?.valueStart ?? text.length) > index;
    })
    .slice(0, MAX_FINDINGS)
    .map(({ index, 0: found }) => {
      const code = found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
      const message = `the character U+${code} ends a line for kubectl, but not for other tools`;
      return refused(index, message, `write it as \\u${code.toLowerCase()} in double quotes, or remove it`);
    });
}

function refused(offset: number, message: string, hint: string): TextProblem {
  return { severity: 'error', reason: 'YamlSyntax', message, hint, offset };
}
