#!/bin/sh
# Removes from one cluster what a fleet's agent has applied there, when neither server nor agent is there any more to do it.
# Namespaces and CRDs stay: what others have in them would go as well.
#
#   remove-objects.sh FLEET [options of kubectl delete, such as --dry-run=server or --context=NAME]
set -eu

fleet=${1:?name of the fleet}
shift
case $fleet in
*[!a-z0-9-]*) echo "$fleet is no name of a fleet" >&2; exit 2 ;;
esac
context=
for word; do
  case $word in
  --context | --kubeconfig) echo "write $word=VALUE" >&2; exit 2 ;;
  --context=* | --kubeconfig=*) context="$context $word" ;;
  esac
done

# shellcheck disable=SC2086 # several words
running=$(kubectl $context get deployments --all-namespaces --selector app.kubernetes.io/name=fleetrelay-agent --output name)
if [ -n "$running" ]; then
  echo "an agent is installed in this cluster and would put everything back: remove it first ($running)" >&2
  exit 1
fi
# shellcheck disable=SC2086
kinds=$(kubectl $context api-resources --verbs=list,delete --output name |
  grep -vxE 'namespaces|customresourcedefinitions\.apiextensions\.k8s\.io|events(\.events\.k8s\.io)?' | paste -sd, -)
exec kubectl delete "$kinds" --all-namespaces --selector "fleetrelay.dev/fleet=$fleet" --ignore-not-found "$@"
