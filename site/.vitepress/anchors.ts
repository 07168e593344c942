/** The anchor of a heading without marks, by GitHub's rule: a link to it holds on the site as it does in the repository. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
