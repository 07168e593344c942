import { closeSync, constants, existsSync, fsyncSync, openSync, renameSync } from 'node:fs';

/** True for a system error with one of these codes (`ENOENT`, ...). */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

/** Makes a rename or removal in this folder durable. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Renames a damaged file to the first free `PATH.corrupt-N`, and its companions with these suffixes. Returns the new path. */
export function moveAside(path: string, companions: readonly string[] = []): string {
  let number = 1;
  while (existsSync(`${path}.corrupt-${number}`)) number += 1;
  const aside = `${path}.corrupt-${number}`;
  for (const suffix of [...companions, '']) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}
