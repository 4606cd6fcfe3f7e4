/** What names an object in an address. */
export interface Named {
  kind: string
  namespace?: string | undefined
  name: string
}

/** Instead of the namespace of an object that has none. */
const NO_NAMESPACE = '_'

/** The path of an object in addresses of the page and of the API: `Deployment/shop/web`. */
export function objectPath({ kind, namespace, name }: Named): string {
  return [kind, namespace || NO_NAMESPACE, name].map(encodeURIComponent).join('/')
}

/** Returns a part of an address as text; one that cannot be decoded, such as `%zz`, as it is. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Returns an address below the page or the API, without parameters that are empty. */
export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const some = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(
    some.map(([key, value]) => [key, String(value)] as [string, string]),
  ).toString()
  return text ? `${path}?${text}` : path
}

export const objectLink = (object: Named): string => `/objects/${objectPath(object)}`
export const eventLink = (id: string): string => `/events/${encodeURIComponent(id)}`
export const sinkLink = (name: string): string => `/sinks/${encodeURIComponent(name)}`
export const ruleLink = (name: string): string => `/rules?${new URLSearchParams({ rule: name })}`

/** Whether a text is the id of an event, which has four parts or more: what it is looked up by is not a name of an object. */
export function isEventId(text: string): boolean {
  return text.split('/').length >= 4 && !/\s/.test(text)
}
