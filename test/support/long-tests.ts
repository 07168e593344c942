import { test } from 'vitest';
import { isLong } from './long.ts';

type Body = () => void | Promise<void>;

/** A test of `npm test`, in a file whose other tests {@link testInLong} leaves to `npm run test:long`. */
export function testOften(name: string, body: Body): void {
  if (!isLong) test(name, body);
}

/** A test that only `npm run test:long` runs; `vitest.config.ts` lists the file. */
export function testInLong(name: string, body: Body): void {
  if (isLong) test(name, body);
}
