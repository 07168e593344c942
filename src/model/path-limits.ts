/** The longest path that Linux and git on it can open. */
export const MAX_PATH_BYTES = 4096;
/** The longest name of one file or folder that common file systems can hold. */
const MAX_NAME_BYTES = 255;

/** Why no file system could hold a file of this path, as the end of a sentence; undefined: one could. */
export function pathProblem(path: string): string | undefined {
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    return `has a path of more than ${MAX_PATH_BYTES} bytes`;
  }
  const isLong = path
    .split('/')
    .some((name) => name.length * 3 > MAX_NAME_BYTES && Buffer.byteLength(name) > MAX_NAME_BYTES);
  return isLong ? `has a name of more than ${MAX_NAME_BYTES} bytes in its path` : undefined;
}
