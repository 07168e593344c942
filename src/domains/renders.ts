import type { DomainRender } from '../compose/render/domain-render.ts';
import { domains } from './domains.ts';

/** What each domain adds to an evaluation of a folder. */
export const domainRenders: readonly (DomainRender & { readonly name: string })[] = await Promise.all(
  domains.map(async ({ name, render }) => ({ name, ...(await render?.()) })),
);
