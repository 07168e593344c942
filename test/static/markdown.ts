/** A line of a page. */
interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** A piece of code of a page: a line of a block, or code between backticks. */
export interface Code extends Line {
  readonly isBlock: boolean;
}

/** A paragraph, or an item of a list: what is read at one go. */
export interface Paragraph {
  readonly line: number;
  readonly words: number;
}

/** What the rules for pages judge of a page. */
export interface Page {
  readonly lines: number;
  readonly links: readonly Line[];
  /** Names that links of other pages can have after a `#`. */
  readonly anchors: ReadonlySet<string>;
  readonly paragraphs: readonly Paragraph[];
  readonly code: readonly Code[];
}

const FENCE = /^ *(```+|~~~+)/;
const ITEM = /^ *(?:[-*]|\d+\.) /;

/** Reads a page of Markdown as GitHub does, in as far as these pages use it. */
export function readPage(text: string): Page {
  const { prose, block } = splitCode(text.replace(/\n$/, '').split('\n'));
  const shown = prose.filter(({ text }) => !text.startsWith('<!--'));
  return {
    lines: text.replace(/\n$/, '').split('\n').length,
    links: shown.flatMap((line) => linksIn(line)),
    anchors: anchorsOf(shown),
    paragraphs: paragraphsOf(shown),
    code: [...block, ...shown.flatMap((line) => inlineCode(line))],
  };
}

/** Lines of prose; lines of code lie between them and leave an empty line there. */
function splitCode(lines: readonly string[]): { readonly prose: readonly Line[]; readonly block: readonly Code[] } {
  const prose: Line[] = [];
  const block: Code[] = [];
  let fence: string | undefined;
  let listDepth = 0;
  lines.forEach((text, index) => {
    const number = index + 1;
    const [, mark] = FENCE.exec(text) ?? [];
    const blank = { number, text: '' };
    if (fence !== undefined) {
      if (mark === fence) fence = undefined;
      else block.push({ number, text, isBlock: true });
      prose.push(blank);
      return;
    }
    if (mark !== undefined) {
      fence = mark;
      prose.push(blank);
      return;
    }
    const indent = /^ */.exec(text)?.[0].length ?? 0;
    const before = prose.at(-1)?.text ?? '';
    const followsCode = block.at(-1)?.number === index;
    // Four spaces after an empty line are code, or two more than that in a list.
    if (text.trim() !== '' && indent >= listDepth + 4 && (before === '' || followsCode) && !ITEM.test(text)) {
      block.push({ number, text, isBlock: true });
      prose.push(blank);
      return;
    }
    if (ITEM.test(text)) listDepth = indent + 2;
    else if (indent === 0 && text !== '') listDepth = 0;
    prose.push({ number, text });
  });
  return { prose, block };
}

function linksIn({ number, text }: Line): readonly Line[] {
  const plain = text.replaceAll(/`[^`]*`/g, (code) => 'x'.repeat(code.length));
  return [...plain.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => ({ number, text: target }));
}

function inlineCode({ number, text }: Line): readonly Code[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => ({
    ...{ number, isBlock: false },
    text: code.replaceAll('\\|', '|'),
  }));
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(lines: readonly Line[]): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const { text } of lines) {
    const [, title] = /^#{1,6} (.*)$/.exec(text) ?? [];
    if (title === undefined) continue;
    const name = title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    let unique = name;
    for (let again = 1; anchors.has(unique); again += 1) unique = `${name}-${again}`;
    anchors.add(unique);
  }
  return anchors;
}

function paragraphsOf(lines: readonly Line[]): readonly Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let current: { line: number; text: string } | undefined;
  const end = (): void => {
    if (current !== undefined) paragraphs.push({ line: current.line, words: wordsIn(current.text) });
    current = undefined;
  };
  for (const { number, text } of lines) {
    const isProse = text.trim() !== '' && !/^(#|\||<)/.test(text);
    if (!isProse || ITEM.test(text)) end();
    if (!isProse) continue;
    if (current === undefined) current = { line: number, text };
    else current.text += ` ${text}`;
  }
  end();
  return paragraphs;
}

function wordsIn(text: string): number {
  return text
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
