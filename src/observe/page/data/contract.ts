// The answers of the API. Types only: the page has none of the API's code.
export type * from '../../../app/api/contract.ts'
