import { DOMAINS, domainFolder, LAYERS, LISTING_DOMAINS } from '../../scripts/layers.ts';

/** The lists of domains, and what they are made of. */
const LISTS = /^src\/domains\/[a-z-]+\.ts$/;

/** The domain of a file, and its folder there; the folder is empty for `index.ts` and its neighbours. Undefined: it is of the core. */
function placeOf(path: string): { readonly domain: string; readonly folder: string } | undefined {
  const [top, domains, domain = '', folder = ''] = path.split('/');
  if (top !== 'src' || domains !== 'domains' || !DOMAINS.includes(domain)) return undefined;
  return { domain, folder: folder.endsWith('.ts') ? '' : folder };
}

/**
 * Says what is wrong with an import that begins or ends in `src/domains`; undefined: nothing. `target`: the layer of the imported
 * file, `generated` or `outside`.
 */
export function domainComplaint(file: string, resolved: string, target: string): string | undefined {
  const [from, to] = [placeOf(file), placeOf(resolved)];
  if (LISTS.test(file)) return undefined;
  if (from === undefined) {
    const isList = LISTS.test(resolved) && LISTING_DOMAINS.includes(file.split('/')[1] ?? '');
    return isList ? undefined : `${file} imports ${resolved}: the core imports no domain`;
  }
  const isFree = from.folder === '';
  if (LISTS.test(resolved)) {
    const mayList = isFree || from.folder === 'compose' || from.folder === 'cli';
    return mayList ? undefined : `${file} imports ${resolved}: ${from.folder} may not`;
  }
  const may = domainFolder(from.folder)?.may ?? [];
  if (to === undefined) {
    const isSameLayer = target === from.folder && LAYERS[target] !== undefined;
    return isFree || isSameLayer || may.includes(target)
      ? undefined
      : `${file} imports ${resolved}: ${from.folder} may not`;
  }
  if (to.domain === from.domain) {
    const isAllowed = isFree || to.folder === from.folder || may.includes(to.folder);
    return isAllowed ? undefined : `${file} imports ${resolved}: ${from.folder} may not`;
  }
  const isEarlier = DOMAINS.indexOf(to.domain) < DOMAINS.indexOf(from.domain);
  if (isEarlier && resolved === `src/domains/${to.domain}/index.ts`) return undefined;
  return `${file} imports ${resolved}: a domain imports an earlier one by its index.ts only`;
}
