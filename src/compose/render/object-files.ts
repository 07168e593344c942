import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathOfObject, printLiveObject } from '../../adapters/directory/object-file.ts';
import { withoutStamp } from '../../adapters/directory/stamp.ts';
import type { JsonObject } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { Rendering } from './rendering.ts';

/** How many files of a cluster are written at once. */
const AT_ONCE = 64;

/** Makes sure that the folder is there and empty. Rejects with a text for a person if it is not. */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    if ((await readdir(folder)).length === 0) return;
  } catch (error) {
    return cannotWrite(folder)(error);
  }
  throw new Error(`the folder ${folder} is not empty: name a new one, or empty it`);
}

/** Writes a directory cluster for each registered cluster, without stamps. Rejects with a text for a person. */
export async function writeObjects(
  folder: string,
  { clusters, objectsOf }: Pick<Rendering, 'clusters' | 'objectsOf'>,
): Promise<void> {
  const texts = new Map<JsonObject, string>();
  const textOf = (value: JsonObject): string => {
    const text = texts.get(value) ?? printLiveObject(withoutStamp(value));
    texts.set(value, text);
    return text;
  };
  const folders = new Set<string>();
  const ensure = async (path: string): Promise<void> => {
    if (!folders.has(path)) await mkdir(path, { recursive: true });
    folders.add(path);
  };
  for (const cluster of clusters) {
    await ensure(join(folder, cluster));
    const objects = objectsOf(cluster);
    for (let start = 0; start < objects.length; start += AT_ONCE) {
      const portion = objects.slice(start, start + AT_ONCE);
      const writes = portion.map(async ({ key, value }) => {
        const path = join(folder, cluster, pathOfObject(key));
        await ensure(dirname(path));
        // No object takes the file of another one: kinds that differ in upper case only have one path.
        await writeFile(path, textOf(value), { flag: 'wx' }).catch(cannotWrite(path));
      });
      await Promise.all(writes);
    }
  }
}

function cannotWrite(path: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`${path} cannot be written: ${errorText(error)}`);
  };
}
