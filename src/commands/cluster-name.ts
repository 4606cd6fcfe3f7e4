import type { Config } from '../config/schema.ts'

/** The cluster's name: the configuration's, else the kubeconfig context's (made fit for a key), else `kubernetes`. */
export function clusterName({ cluster }: Pick<Config, 'cluster'>, context: () => string | undefined): string {
  if (cluster) return cluster
  const fit = context()
    ?.replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return fit || 'kubernetes'
}
