/** Paths of event-exporter's templates, and what they are called here. */
const PATHS: Readonly<Record<string, string>> = {
  Message: 'event.message',
  Reason: 'event.reason',
  Type: 'event.eventType',
  Count: 'event.count',
  Namespace: 'namespace',
  Name: 'name',
  UID: 'uid',
  ClusterName: 'cluster',
  FirstTimestamp: 'event.firstSeen',
  LastTimestamp: 'event.lastSeen',
  'InvolvedObject.Kind': 'about.kind',
  'InvolvedObject.Name': 'about.name',
  'InvolvedObject.Namespace': 'about.namespace',
  'InvolvedObject.APIVersion': 'event.regarding.apiVersion',
  'InvolvedObject.UID': 'event.regarding.uid',
  'Source.Component': 'event.reportingComponent',
  'Source.Host': 'object.source.host',
}

/** A Go template as Liquid; undefined when it has more in it than values. */
export function liquidOf(template: string): string | undefined {
  let isKnown = true
  const liquid = template.replace(/\{\{((?:(?!\{\{|\}\}).)*)\}\}/gs, (_, inside: string) => {
    const [, path = ''] = /^\.([A-Za-z.]+)$/.exec(inside.replace(/^-|-$/g, '').trim()) ?? []
    const name = Object.hasOwn(PATHS, path) ? PATHS[path] : undefined
    if (name === undefined) isKnown = false
    return `{{ ${name} }}`
  })
  return isKnown && !liquid.includes('{%') ? liquid : undefined
}
