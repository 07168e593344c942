import { textOf } from '../../text/json.ts';
import { type Found, failed, inProgress, type Live, NOT_OBSERVED, type Rules } from './health.ts';

export const knativeRules: Rules = {
  'serving.knative.dev/*': servingHealth,
  'operator.knative.dev/*': operatorHealth,
};

/** Knative says Unknown while it works, and False when it has given up. A condition with a severity does not count for `Ready`. */
function servingHealth({ conditions, condition }: Live): Found | undefined {
  const ready = condition('Ready');
  if (ready === undefined) return NOT_OBSERVED;
  const counted = conditions.filter(({ severity }) => textOf(severity) === '');
  const bad = [ready, ...counted].find(({ status }) => status === 'False');
  if (bad !== undefined && ready.status !== 'True') return failed(bad);
  const open = [ready, ...counted].find(({ status }) => status !== 'True' && status !== 'False');
  return open === undefined ? undefined : inProgress(open);
}

/** What the operator installs is still coming up while `Ready` is false; an installation that has failed says so. */
function operatorHealth({ conditions }: Live): Found | undefined {
  if (conditions.length === 0) return NOT_OBSERVED;
  const broken = conditions.find(
    ({ type, status }) =>
      !['True', 'False', 'Unknown'].includes(textOf(status)) ||
      (status === 'False' && (type === 'InstallSucceeded' || type === 'DependenciesInstalled')),
  );
  if (broken !== undefined) return failed(broken);
  const open = conditions.find(({ status }) => status !== 'True');
  return open === undefined ? undefined : inProgress(open);
}
