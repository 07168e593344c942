import { domains } from '../domains/domains.ts';

/** What `get` and `explain` show of each domain. */
export const domainViews = (await Promise.all(domains.map(({ cli }) => cli?.views()))).filter(
  (views) => views !== undefined,
);
