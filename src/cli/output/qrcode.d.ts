/** The used part of qrcode 1.5, which has no types. */
declare module 'qrcode' {
  interface Settings {
    readonly margin?: number
    readonly scale?: number
    readonly errorCorrectionLevel?: 'L' | 'M' | 'Q' | 'H'
  }
  const qrcode: {
    create(text: string, settings: Settings): { readonly modules: { readonly size: number; readonly data: Uint8Array } }
    toString(text: string, settings: Settings & { type: 'svg' }): Promise<string>
    toBuffer(text: string, settings: Settings & { type: 'png' }): Promise<Uint8Array>
  }
  export default qrcode
}
