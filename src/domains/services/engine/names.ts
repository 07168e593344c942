import { sha256 } from '../../../model/text/digest.ts';

/** The limit of a DNS label; longer joined names are shortened. */
const LONGEST = 63;
const HASH = 6;

/**
 * The name of a mirrored object by Gimbal's rule, so that existing routes stay valid: cluster and name, joined by a hyphen.
 * From 63 bytes on, parts beyond their share are cut, the last one first, and end with the beginning of their hash. Different
 * services can get the same name: the caller must detect that.
 */
export function mirroredName(cluster: string, name: string): string {
  return shortened([cluster, name]);
}

/** The beginning of all mirrored names of a cluster, up to where a long one is cut. */
export function mirroredPrefix(cluster: string): string {
  return cluster.slice(0, Math.floor(LONGEST / 2) - HASH);
}

/** A name as the value of a label, shortened by the same rule. */
export function labelValue(name: string): string {
  return shortened([name]);
}

function shortened(parts: readonly string[]): string {
  const cut = [...parts];
  const share = Math.floor(LONGEST / parts.length);
  for (let last = cut.length - 1; last >= 0 && cut.join('-').length >= LONGEST; last -= 1) {
    const part = parts[last] ?? '';
    if (part.length > share) cut[last] = part.slice(0, share - HASH) + sha256(part).slice(0, HASH);
  }
  return cut.join('-');
}

/**
 * The name of the mirrored object of a service of a mesh (`part`: of one of its slices), by the same rule. It is a DNS label
 * that begins with a letter, as names of Services must. Different services can get the same name here, too.
 */
export function meshName(mesh: string, service: string, ...part: readonly string[]): string {
  const first = labelChars(mesh);
  const begin = first.search(/[a-z0-9]/);
  const known = begin === -1 ? '' : first.slice(begin);
  const prefix = /^[a-z]/.test(known) ? known : `mesh-${known}`;
  return withoutEnds(shortened([prefix, [labelChars(service), ...part].join('-')]), '-');
}

/** A name of any characters as the value of a label. */
export function meshLabelValue(name: string): string {
  return labelValue(withoutEnds(name.replace(/[^A-Za-z0-9._-]/g, '-'), '._-'));
}

function labelChars(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9-]/g, '-');
}

/** The text without these characters at its begin and end. */
function withoutEnds(text: string, chars: string): string {
  let begin = 0;
  let end = text.length;
  while (begin < end && chars.includes(text.charAt(begin))) begin += 1;
  while (end > begin && chars.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(begin, end);
}
