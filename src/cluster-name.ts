import type { Config } from './config/schema.ts'

/** The cluster's name: the configuration's, else the kubeconfig context's (made fit for a key), else `kubernetes`. */
export function clusterName(config: Config, context: string | undefined): string {
  const fit = context?.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return config.cluster ?? (fit || 'kubernetes')
}
