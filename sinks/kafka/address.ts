/** Where a broker listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** `kafka-1:9092`, `[fd00::1]:9092`; undefined when it is neither. */
export function addressOf(text: string): Address | undefined {
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  return host !== undefined && port > 0 && port < 65_536 ? { host, port } : undefined
}

export function shownAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
