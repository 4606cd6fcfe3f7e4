/** Returns how an object is named everywhere: `Deployment shop/web`, `Node n1`. */
export function objectTitle({
  kind,
  namespace,
  name,
}: {
  kind: string
  namespace?: string | undefined
  name: string
}): string {
  return `${kind} ${namespace ? `${namespace}/` : ''}${name}`
}
