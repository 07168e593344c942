import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lateBindings } from './late-bindings.ts';

const root = join(import.meta.dirname, '../..');

/** Files that wire parts. */
const WIRED = [
  'src/compose/**/*.ts',
  'src/engine/graph.ts',
  'src/runtime/replica/*.ts',
  'src/server/*.ts',
  'src/sinks/**/*.ts',
];

describe('a part is made before what uses it', () => {
  it.each(WIRED)('in %s', (pattern) => {
    const files = globSync(pattern, { cwd: root });
    const late = files.flatMap((file) =>
      lateBindings(file, readFileSync(join(root, file), 'utf8')).map((name) => `${file}: ${name}`),
    );
    expect(files).not.toEqual([]);
    expect(late).toEqual([]);
  });

  it.each([
    ['a closure above the declaration', 'const a = () => b();\n  const b = make();', ['b (line 2)']],
    ['a closure in the declaration itself', 'const a = make(() => a.stop());', ['a (line 2)']],
    ['a closure above a variable of a pattern', 'on(() => b);\n  const { a, other: [b] } = make();', ['b (line 2)']],
    ['a closure in a member of an object', 'const a = { stop: () => b.stop };\n  let b = make();', ['b (line 2)']],
    ['a closure below the declaration', 'const b = make();\n  const a = () => b();', []],
    ['a function that calls itself', 'const a = (n: number) => n && a(n - 1);', []],
    ['a parameter of the same name', 'const a = (b: string) => b;\n  const b = make();', []],
    ['a member of the same name', 'const a = () => deps.b;\n  const b = make();', []],
    ['a variable of the closure', 'const a = () => {\n    const b = 1;\n    return b;\n  };\n  const b = make();', []],
    ['a variable of a loop', 'const a = () => {\n    for (let b = 0; b < 3; ) b += 1;\n  };\n  const b = make();', []],
    ['a type', 'const a = (): typeof b => 1;\n  const b = 1;', []],
  ])('%s is judged', (_what, body, late) => {
    expect(lateBindings('a.ts', `function create(deps: Deps) {\n  ${body}\n}`)).toEqual(late);
  });
});
