import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathOfObject, printLiveObject } from '../../adapters/directory/object-file.ts';
import { withoutStamp } from '../../adapters/directory/stamp.ts';
import { makeFolders } from '../../adapters/disk/folders.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';

/** An object that a cluster should hold. */
export interface RenderedObject {
  readonly key: ObjectKey;
  readonly value: JsonObject;
}

/** How many files of a cluster are written at once. */
const AT_ONCE = 64;

/** Makes the folder unless it exists. Rejects with a text for a person if it is not empty. */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder);
    if ((await readdir(folder)).length === 0) return;
  } catch (error) {
    return cannotWrite(folder)(error);
  }
  throw new Error(`the folder ${folder} is not empty: name a new one, or empty it`);
}

/** Writes a directory cluster for each registered cluster, without stamps. Rejects with a text for a person. */
export async function writeObjects(
  folder: string,
  clusters: readonly string[],
  objectsOf: (cluster: string) => readonly RenderedObject[],
): Promise<void> {
  const texts = new Map<JsonObject, string>();
  const textOf = (value: JsonObject): string => {
    const text = texts.get(value) ?? printLiveObject(withoutStamp(value));
    texts.set(value, text);
    return text;
  };
  for (const cluster of clusters) {
    await makeFolders(join(folder, cluster));
    const objects = objectsOf(cluster);
    for (let start = 0; start < objects.length; start += AT_ONCE) {
      const portion = objects.slice(start, start + AT_ONCE);
      const writes = portion.map(async ({ key, value }) => {
        const path = join(folder, cluster, pathOfObject(key));
        await makeFolders(dirname(path));
        // Kinds that differ in upper case only have one path: the second object must not replace the first one.
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
