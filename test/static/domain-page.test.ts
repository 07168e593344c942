import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const project = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(project, path), 'utf8');
/** The page shows functions without the indentation of what they stand in. */
const flat = (code: string): string => code.replaceAll(/^ +/gm, '');

test('the page about domains shows the code of the domain in the tests', () => {
  const code = flat(read('test/support/banners.ts'));
  const blocks = [...read('docs/development/adding-a-domain.md').matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, text = '']) => text,
  );
  expect(blocks.length).toBeGreaterThan(5);
  expect(blocks.filter((block) => !code.includes(flat(block).trim()))).toEqual([]);
});
