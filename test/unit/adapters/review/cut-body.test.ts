import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutBody, cutLine } from '../../../../src/adapters/review/cut-body.ts';

test('a text within the limit stays as it is', () => {
  expect(cutBody('a\nb', 3)).toBe('a\nb');
});

test('the cut is at the end of a line, and closes code blocks and folded sections', () => {
  const body = `summary\n<details><summary>east</summary>\n\n<details>\n\`\`\`\`diff\n\`\`\`\n${'+ a line\n'.repeat(100)}`;
  const cut = cutBody(body, 400);
  expect(cut.length).toBeLessThanOrEqual(400);
  expect(cut).toMatch(
    /\n\+ a line\n````\n\n<\/details>\n\n<\/details>\n\n\*\*The text is cut here: it has \d+ characters, and this host takes 400\.\*\*\n$/,
  );
});

test('sections and code blocks that are closed before the cut are not closed again', () => {
  const body = `<details>\n~~~\n<details>\n~~~\n</details>\n${'text\n'.repeat(100)}`;
  expect(cutBody(body, 300)).toMatch(/^<details>\n~~~\n<details>\n~~~\n<\/details>\n(text\n)+\n\*\*The text is cut/);
});

test('of a line that is too long nothing stays', () => {
  expect(cutBody('x'.repeat(500), 200)).toMatch(/^\n\*\*The text is cut here/);
});

test('no cut is longer than the limit, and each is balanced', () => {
  const line = fc.constantFrom('<details>', '</details>', '```', '````', '~~~ yaml', '~~~', 'text', '- item', '');
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 60, maxLength: 200 }),
      fc.integer({ min: 180, max: 600 }),
      (lines, most) => {
        const body = lines.join('\n');
        const cut = cutBody(body, most);
        expect(cut.length).toBeLessThanOrEqual(Math.max(most, 0));
        if (body.length > most) expect(openAtEnd(cut)).toEqual({ fence: '', depth: 0 });
      },
    ),
  );
});

/** A second reading of the rules: what is open at the end. */
function openAtEnd(text: string) {
  let fence = '';
  let depth = 0;
  for (const line of text.split('\n')) {
    const mark = /^(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence !== '') {
      if (mark !== '' && mark.startsWith(fence) && line.slice(mark.length).trim() === '') fence = '';
    } else if (mark !== '') fence = mark;
    else if (line === '<details>') depth += 1;
    else if (line === '</details>') depth = Math.max(0, depth - 1);
  }
  return { fence, depth };
}

test.each([
  ['a\nb\tc', 'a b c'],
  ['\u0000a\u202eb ', 'a b'],
  ['0123456789abc', '012345678…'],
])('the line of %j', (text, line) => {
  expect(cutLine(text, 10)).toBe(line);
});
