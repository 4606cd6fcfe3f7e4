import type { FieldChange } from '../../model/event.ts'
import { counted } from '../../text/quantities.ts'
import { arrow, changedBelow, conditionOf, isKnown } from './changes.ts'
import { because, listed } from './phrasing.ts'
import {
  at,
  type Draft,
  field,
  list,
  type Summarizer,
  type SummaryInput,
  scalar,
  text,
  texts,
} from './summarizer.ts'
export const service: Summarizer = {
  trouble(input) {
    const error = list(input.object, 'status', 'loadBalancer', 'ingress')
      .flatMap((it) => list(it, 'ports'))
      .map((it) => text(it, 'error'))
      .find((it) => it !== '')
    return error === undefined
      ? undefined
      : { severity: 'warning', phrase: `: its load balancer fails${because(error)}` }
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

/** `80 → 8080, 443 → https/TCP`: the target port where it differs. */
function portsOf(object: SummaryInput['object']): string {
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

function serviceWanted(input: SummaryInput, changes: readonly FieldChange[]): Draft | undefined {
  const parts: string[] = []
  const type = changes.find(({ path }) => path === 'spec.type')
  if (type) parts.push(`type ${arrow(type)}`)
  if (changes.some(({ path }) => path.startsWith('spec.ports')))
    parts.push(`ports now ${portsOf(input.object)}`)
  const selector = changes.filter(({ path }) => path.startsWith('spec.selector'))
  if (selector.length > 0) parts.push('its selector, so it leads to other pods')
  return parts.length > 0 ? { severity: 'info', phrase: ` changed: ${parts.join('; ')}` } : undefined
}

/** Returns the phrase about the address of a Service or Ingress. */
function addressState(input: SummaryInput): Draft | undefined {
  const changed = changedBelow(input, 'status.loadBalancer')
  const address = addressesOf(input.object)
  if (changed && address === '') {
    return {
      severity: 'warning',
      phrase: ' lost its address',
      text: 'Nothing outside of the cluster reaches it there any more.',
    }
  }
  if (changed) return { severity: 'info', phrase: ` has the address ${address}` }
  const balanced = text(input.object, 'spec', 'type') === 'LoadBalancer' || input.event.kind === 'Ingress'
  if (isKnown(input) || !balanced) return undefined
  return {
    severity: 'info',
    phrase: address === '' ? ' has no address yet' : ` changed, its address is ${address}`,
  }
}

export const ingress: Summarizer = {
  wanted(input, changes) {
    const inSpec = changes.filter(({ path }) => path.startsWith('spec.'))
    if (inSpec.length === 0) return undefined
    const hosts = hostsOf(input.object)
    const what = inSpec.every(({ path }) => path.startsWith('spec.tls')) ? 'its TLS' : 'its rules'
    return { severity: 'info', phrase: ` changed ${what}${hosts && ` for ${hosts}`}` }
  },
  state: addressState,
  created(input) {
    const hosts = hostsOf(input.object)
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

function hostsOf(object: SummaryInput['object']): string {
  const hosts = list(object, 'spec', 'rules').map((it) => text(it, 'host') || '*')
  return listed([...new Set(hosts)], 3)
}

function backendsOf(object: SummaryInput['object']): string {
  const backends = list(object, 'spec', 'rules')
    .flatMap((it) => list(it, 'http', 'paths'))
    .map((it) => at(it, 'backend', 'service'))
    .map((it) => `${text(it, 'name')}:${scalar(it, 'port', 'name') || scalar(it, 'port', 'number')}`)
  return listed(
    [...new Set(backends)].filter((it) => it !== ':'),
    3,
  )
}

export const endpointSlice: Summarizer = {
  state({ object }) {
    const endpoints = list(object, 'endpoints')
    const ready = endpoints.filter((it) => at(it, 'conditions', 'ready') !== false).length
    const of = text(object, 'metadata', 'labels', 'kubernetes.io/service-name')
    const phrase =
      endpoints.length === 0
        ? ' has no endpoints'
        : ` has ${ready} of ${counted(endpoints.length, 'endpoint')} ready`
    return { severity: 'info', phrase, text: of && `Of Service ${of}.` }
  },
  fields: ({ object }) => [
    field('Service', text(object, 'metadata', 'labels', 'kubernetes.io/service-name')),
  ],
}

/** Gateways and routes of gateway.networking.k8s.io have a list of addresses. */
export const gateway: Summarizer = {
  trouble(input) {
    const accepted = conditionOf(input, 'Accepted')
    if (accepted?.status !== 'False') return undefined
    const phrase = ` is not accepted${because(accepted.message)}`
    return { severity: 'warning', phrase, quote: accepted.message }
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
