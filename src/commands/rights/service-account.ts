import { UsageError } from '../usage-error.ts'

export interface ServiceAccount {
  namespace: string
  name: string
}

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Takes `NAMESPACE/NAME` apart; without it, the name is kubeherald, in the pod's own namespace. Throws UsageError. */
export function accountOf(text: string | undefined, env: NodeJS.ProcessEnv): ServiceAccount {
  const own = env['POD_NAMESPACE'] || 'kubeherald'
  const [namespace = '', name, ...rest] = (text ?? `${own}/kubeherald`).split('/')
  if (name === undefined || rest.length > 0)
    throw new UsageError(`--service-account ${text}: write NAMESPACE/NAME, such as kubeherald/kubeherald`)
  if (!LABEL.test(namespace))
    throw new UsageError(
      text === undefined
        ? `POD_NAMESPACE="${own}" is no namespace: give --service-account NAMESPACE/NAME`
        : `--service-account ${text}: "${namespace}" is no namespace: use a-z, 0-9 and "-", up to 63`,
    )
  if (name.length > 253 || !SUBDOMAIN.test(name))
    throw new UsageError(
      `--service-account ${text}: "${name}" is no name of a service account: use a-z, 0-9, "-" and "."`,
    )
  return { namespace, name }
}

/** Gives the name back. Throws UsageError when objects cannot have it. */
export function checkRoleName(name: string): string {
  if (name.length <= 253 && SUBDOMAIN.test(name)) return name
  throw new UsageError(`--name ${name}: is no name of a role: use a-z, 0-9, "-" and "."`)
}
