import type { FieldChange } from '../../event.ts'
import { arrow, changedBelow, isKnown } from './changes.ts'
import { conditionOf } from './conditions.ts'
import { field } from './meta.ts'
import { at, list, scalar, text, texts } from './read.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because, counted, listed } from './wording.ts'

export const service: Teller = {
  trouble(told) {
    const error = list(told.object, 'status', 'loadBalancer', 'ingress')
      .flatMap((it) => list(it, 'ports'))
      .map((it) => text(it, 'error'))
      .find((it) => it !== '')
    return error === undefined
      ? undefined
      : { severity: 'warning', says: `: its load balancer fails${because(error)}` }
  },
  wanted: serviceWanted,
  state: addressState,
  created({ object }) {
    const type = text(object, 'spec', 'type')
    const ports = portsOf(object)
    return [type, ports && `port ${ports}`].filter((it) => it !== '').join(', ') + (type || ports ? '.' : '')
  },
  fields({ object }) {
    const ip = text(object, 'spec', 'clusterIP')
    return [
      field('Type', text(object, 'spec', 'type')),
      field('Ports', portsOf(object)),
      field('Address', addressesOf(object)),
      field('Cluster IP', ip === 'None' ? 'none (headless)' : ip),
      field('External name', text(object, 'spec', 'externalName')),
    ]
  },
}

/** `80 → 8080, 443 → https/TCP`: what pods get, where it differs. */
function portsOf(object: Told['object']): string {
  const ports = list(object, 'spec', 'ports').map((it) => {
    const port = scalar(it, 'port')
    const target = scalar(it, 'targetPort')
    const protocol = text(it, 'protocol')
    const other = protocol !== '' && protocol !== 'TCP' ? `/${protocol}` : ''
    return `${port}${other}${target !== '' && target !== port ? ` → ${target}` : ''}`
  })
  return listed(ports)
}

function addressesOf(object: unknown): string {
  const addresses = list(object, 'status', 'loadBalancer', 'ingress')
    .map((it) => text(it, 'hostname') || text(it, 'ip'))
    .filter((it) => it !== '')
  return listed(addresses, 3)
}

function serviceWanted(told: Told, changes: readonly FieldChange[]): Draft | undefined {
  const parts: string[] = []
  const type = changes.find(({ path }) => path === 'spec.type')
  if (type) parts.push(`type ${arrow(type)}`)
  if (changes.some(({ path }) => path.startsWith('spec.ports')))
    parts.push(`ports now ${portsOf(told.object)}`)
  const selector = changes.filter(({ path }) => path.startsWith('spec.selector'))
  if (selector.length > 0) parts.push('its selector, so it leads to other pods')
  return parts.length > 0 ? { severity: 'info', says: ` changed: ${parts.join('; ')}` } : undefined
}

/** Of Services and Ingresses. */
function addressState(told: Told): Draft | undefined {
  const changed = changedBelow(told, 'status.loadBalancer')
  const address = addressesOf(told.object)
  if (changed && address === '') {
    return {
      severity: 'warning',
      says: ' lost its address',
      text: 'Nothing outside of the cluster reaches it there any more.',
    }
  }
  if (changed) return { severity: 'info', says: ` has the address ${address}` }
  const balanced = text(told.object, 'spec', 'type') === 'LoadBalancer' || told.event.kind === 'Ingress'
  if (isKnown(told) || !balanced) return undefined
  return {
    severity: 'info',
    says: address === '' ? ' has no address yet' : ` changed, its address is ${address}`,
  }
}

export const ingress: Teller = {
  wanted(told, changes) {
    const inSpec = changes.filter(({ path }) => path.startsWith('spec.'))
    if (inSpec.length === 0) return undefined
    const hosts = hostsOf(told.object)
    const what = inSpec.every(({ path }) => path.startsWith('spec.tls')) ? 'its TLS' : 'its rules'
    return { severity: 'info', says: ` changed ${what}${hosts && ` for ${hosts}`}` }
  },
  state: addressState,
  created(told) {
    const hosts = hostsOf(told.object)
    return hosts && `Serves ${hosts}.`
  },
  fields({ object }) {
    const tls = list(object, 'spec', 'tls')
      .map((it) => text(it, 'secretName'))
      .filter((it) => it !== '')
    return [
      field('Hosts', hostsOf(object)),
      field('Leads to', backendsOf(object)),
      field('Address', addressesOf(object)),
      field('Class', text(object, 'spec', 'ingressClassName')),
      field('TLS', listed(tls, 2)),
    ]
  },
}

function hostsOf(object: Told['object']): string {
  const hosts = list(object, 'spec', 'rules').map((it) => text(it, 'host') || '*')
  return listed([...new Set(hosts)], 3)
}

function backendsOf(object: Told['object']): string {
  const backends = list(object, 'spec', 'rules')
    .flatMap((it) => list(it, 'http', 'paths'))
    .map((it) => at(it, 'backend', 'service'))
    .map((it) => `${text(it, 'name')}:${scalar(it, 'port', 'name') || scalar(it, 'port', 'number')}`)
  return listed(
    [...new Set(backends)].filter((it) => it !== ':'),
    3,
  )
}

export const endpointSlice: Teller = {
  state({ object }) {
    const endpoints = list(object, 'endpoints')
    const ready = endpoints.filter((it) => at(it, 'conditions', 'ready') !== false).length
    const of = text(object, 'metadata', 'labels', 'kubernetes.io/service-name')
    const says =
      endpoints.length === 0
        ? ' has no endpoints'
        : ` has ${ready} of ${counted(endpoints.length, 'endpoint')} ready`
    return { severity: 'info', says, text: of && `Of Service ${of}.` }
  },
  fields: ({ object }) => [
    field('Service', text(object, 'metadata', 'labels', 'kubernetes.io/service-name')),
  ],
}

/** Gateways and routes of gateway.networking.k8s.io have a list of addresses. */
export const gateway: Teller = {
  trouble(told) {
    const accepted = conditionOf(told, 'Accepted')
    if (accepted?.status !== 'False') return undefined
    const says = ` is not accepted${because(accepted.message)}`
    return { severity: 'warning', says, quote: accepted.message }
  },
  fields: ({ object }) => [
    field('Hosts', listed(texts(object, 'spec', 'hostnames'), 3)),
    field(
      'Address',
      listed(
        list(object, 'status', 'addresses').map((it) => text(it, 'value')),
        3,
      ),
    ),
    field('Class', text(object, 'spec', 'gatewayClassName')),
  ],
}
