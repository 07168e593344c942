import { compareVersions, isSameMinorFrom, parseLooseVersion } from '../../../../../model/text/semantic-version.ts';
import { bounded } from '../../bounded-text.ts';
import { notChecked } from '../../visibility.ts';
import { causedBy, failed, nodeName, type PoolRule } from './look.ts';
import type { KubeletProblem } from './node-verdict.ts';

/**
 * Compares the versions of a kubelet and of its pool. A kubelet that is newer, or of another minor version, is no problem. Nothing
 * is compared if the Node reports no version or the pool has none.
 */
export function kubeletProblem(version: string, desired: string): KubeletProblem | undefined {
  const wanted = parseLooseVersion(desired);
  if (version === '' || wanted === undefined) return undefined;
  const found = parseLooseVersion(version);
  if (found === undefined) return { type: 'unparsable', version: bounded(version) };
  // A version without a patch stands for all patches of its minor version.
  const isWhole = version.split('.', 3).length === 3;
  const isOlder = isWhole && isSameMinorFrom(found, wanted) && compareVersions(found, wanted) !== 0;
  return isOlder ? { type: 'older', version: bounded(version) } : undefined;
}

/** The kubelets of a pool have to be as new as the pool says. Source: Gardener's CheckNodes. */
export const kubeletsAreUpToDate: PoolRule = (look, { name: pool, kubernetesVersion: desired }) => {
  if (desired !== '' && parseLooseVersion(desired) === undefined) {
    return notChecked(`the Kubernetes version "${bounded(desired)}" of worker pool "${pool}" is no version`);
  }
  const [first] = look.first('kubelet', 1, pool);
  if (first?.value.kubelet === undefined) return undefined;
  const { type, version } = first.value.kubelet;
  const node = nodeName(first.key);
  if (type === 'unparsable') {
    const what = `Error checking for same major minor Kubernetes version for node "${node}"`;
    return failed('VersionParseError', `${what}: improper constraint: ~ ${version}`, causedBy(first));
  }
  const wanted = `does not match the desired Kubernetes version (v${desired})`;
  return failed(
    'KubeletVersionMismatch',
    `The kubelet version for node ${node} (${version}) ${wanted}`,
    causedBy(first),
  );
};
