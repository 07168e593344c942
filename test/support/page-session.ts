import { readPage } from '../static/markdown.ts';

/** A command of a page, and what the page says that it prints. */
export interface PageStep {
  /** Line of the page, from 1. */
  readonly line: number;
  readonly command: string;
  readonly output: readonly string[];
}

/** The commands of a page, which are written after `$ ` in blocks of code, with their output. */
export function stepsOf(text: string): readonly PageStep[] {
  const steps: { line: number; command: string; output: string[] }[] = [];
  let last = 0;
  let isOpen = false;
  for (const { number, text: shown, isBlock } of readPage(text).code) {
    if (!isBlock) continue;
    const [, command] = /^\s*\$ (.*)$/.exec(shown) ?? [];
    const step = steps.at(-1);
    isOpen &&= belongs(last, number, text);
    if (command !== undefined) {
      steps.push({ line: number, command, output: [] });
      isOpen = true;
    } else if (isOpen && step?.command.endsWith('\\') && last === number - 1) {
      step.command = `${step.command.slice(0, -1)}${shown.trim()}`;
    } else if (isOpen) step?.output.push(shown.replace(/^ {4}/, ''));
    last = number;
  }
  return steps;
}

/** Whether nothing but empty lines lies between the two lines: what a command prints may have empty lines. */
function belongs(before: number, number: number, text: string): boolean {
  const between = text.split('\n').slice(before, number - 1);
  return between.every((line) => line.trim() === '');
}

/** The part of a page below a title, without the titles of its level that follow. */
export function sectionOf(page: string, title: string): string {
  const [, section] = page.split(new RegExp(`^## ${title}$`, 'm'));
  if (section === undefined) throw new Error(`the page has no title ${title}`);
  return section.split(/^## /m)[0] ?? '';
}

/** What differs in each run, and the words that stand for it. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\b\d{13}\.\d+\b/g, 'EPOCH.SEQUENCE'],
  [/\b127\.0\.0\.1:\d+/g, 'ADDRESS'],
  [/\b[0-9a-f]{32}\b/g, 'NONCE'],
  [/\b[0-9a-f]{40}\b/g, 'REVISION'],
  [/\b[0-9a-f]{10}(?:[0-9a-f]{2})?\b/g, 'REVISION'],
  [/\b[\w-]+_[0-9a-f]{8}\b/g, 'REPLICA'],
  [/(\bfleetrelay )\d+\.\d+\.\d+ \(Node\.js [\d.]+, [\w-]+\)/g, '$1VERSION'],
  [/\bv\d+\.\d+\.\d+[-+\w.]*/g, 'VERSION'],
  [/(\[\w+ )[0-9a-f]{7,}(?=\])/g, '$1REVISION'],
  [/ +/g, ' '],
];

/** A line without what differs in each run. */
export function withoutVarying(line: string): string {
  return VARYING.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), line).trim();
}

/** Whether a command has printed what the page says; a line `...` of the page stands for any number of lines. */
export function printsAsShown(shown: readonly string[], printed: string): boolean {
  const expected = shown.map(withoutVarying).filter((line) => line !== '');
  const lines = printed
    .split('\n')
    .map(withoutVarying)
    .filter((line) => line !== '');
  let at = 0;
  let mayPass = false;
  for (const line of expected) {
    if (line === '...') {
      mayPass = true;
      continue;
    }
    const found = mayPass ? lines.indexOf(line, at) : lines[at] === line ? at : -1;
    if (found < 0) return false;
    at = found + 1;
    mayPass = false;
  }
  return mayPass || at === lines.length;
}
