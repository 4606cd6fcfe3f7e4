import type { Rule } from '../../src/rules/schema.ts'
import type { When } from '../../src/rules/when.ts'

/** The versions of five of the feed's five hundred pods. */
const FEW_VERSIONS = [3, 103, 203, 303, 403].map((i) => `${i % 30}.${i % 7}.${i % 11}`)

/**
 * Rules as a large team has them: for each of its teams some about Pods, Deployments, Jobs, configuration, ingresses and Events,
 * by namespace, label, name and annotation, and some for all of them; a few ask in CEL or for what a change did. Of the feed's pods
 * `few` match one of a hundred, `all` match one rule each.
 */
export function typicalRules(count: 100 | 1_000, matched: 'few' | 'all'): Rule[] {
  const teams = count === 100 ? 9 : 45
  const services = count === 100 ? 1 : 2
  const rules = Array.from({ length: teams * services }, (_, i) =>
    teamRules(i % teams, Math.floor(i / teams)),
  )
  const own = [...platformRules(), ...rules.flat()]
  const fillers = Array.from({ length: count - own.length - 1 }, (_, i) => databaseRule(i))
  const last =
    matched === 'all'
      ? rule('everything', { kind: 'Pod' })
      : rule('watched-versions', { kind: 'Pod', labels: { 'app.kubernetes.io/version': FEW_VERSIONS } })
  return [...own, ...fillers, last]
}

function teamRules(team: number, service: number): Rule[] {
  const name = `team-${team}`
  const prefix = `${name}-${service}`
  const labels = service === 0 ? { team: name } : { team: name, 'app.kubernetes.io/name': `service-${team}` }
  const namespace = service === 0 ? name : [name, `${name}-*`]
  return [
    rule(`${prefix}-crash-loops`, { kind: 'Event', type: 'Warning', reason: ['BackOff', 'OOM*'], namespace }),
    rule(`${prefix}-unschedulable`, {
      kind: 'Event',
      reason: 'FailedScheduling',
      regarding: { kind: 'Pod', namespace },
    }),
    rule(`${prefix}-rollouts`, { kind: 'Deployment', type: 'MODIFIED', labels }),
    rule(`${prefix}-pods-gone`, { kind: 'Pod', type: 'DELETED', labels }),
    rule(`${prefix}-gold`, { kind: 'Pod', namespace, labels: `tier=gold,team=${name}` }),
    rule(`${prefix}-canaries`, { kind: 'Pod', type: 'MODIFIED', namespace, name: '*-canary-*' }),
    rule(`${prefix}-paged`, { kind: 'Pod', namespace, annotations: 'alerts.example.com/page=true' }),
    rule(`${prefix}-jobs`, { kind: ['Job', 'CronJob'], labels }),
    rule(`${prefix}-configuration`, { kind: ['ConfigMap', 'Secret'], namespace, name: ['app-*', '!*-lock'] }),
    rule(`${prefix}-ingresses`, { kind: 'Ingress', type: ['ADDED', 'DELETED'], namespace }),
  ]
}

const RESTARTS = 'object.status.containerStatuses.exists(c, c.restartCount > 20)'
const IMAGES = 'spec.template.spec.containers.*.image'

function platformRules(): Rule[] {
  return [
    { name: 'noise', when: { kind: 'Event', namespace: 'kube-*', type: 'Normal' }, drop: true },
    { name: 'leases', when: { kind: 'Lease' }, drop: true },
    rule('nodes', { kind: 'Node', labels: '!example.com/spot' }),
    rule('system-pods', { kind: 'Pod', namespace: ['kube-system', '/^istio-/'] }),
    rule('volumes', { kind: ['PersistentVolume', 'PersistentVolumeClaim'], type: '!ADDED' }),
    rule('orphans', { kind: 'Pod', labels: '!team' }),
    { ...rule('back-off-of-many', { kind: 'Event', reason: 'BackOff' }), if: 'event.count > 100' },
    { ...rule('restarts', { kind: 'Pod', labels: 'app.kubernetes.io/name=service-4' }), if: RESTARTS },
    { ...rule('flaky', { kind: 'Pod', namespace: 'team-3' }), if: 'event.name.startsWith("batch-")' },
    { ...rule('new-images', { kind: ['Deployment', 'StatefulSet'] }), changed: [IMAGES] },
    { ...rule('moved', { kind: 'Pod', namespace: 'team-5' }), changed: ['spec.nodeName'] },
  ]
}

/** For a name, wherever it is: nothing that an index finds. */
function databaseRule(i: number): Rule {
  const name = i % 2 === 0 ? `db-${i}-*` : `/^db-${i}-[0-9]+$/`
  return rule(`database-${i}`, { kind: i % 3 === 0 ? 'Pod' : 'StatefulSet', name })
}

function rule(name: string, when: When): Rule {
  return { name, when, to: ['chat', 'bus'] }
}
