class Greeksd < Formula
  desc "Option Greeks of US listed options over HTTP, on this machine"
  homepage "RELEASE_URL"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on macos: :monterey

  on_arm do
    url "RELEASE_URL/greeksd-VERSION-macos-arm64.tar.gz"
    sha256 "SHA256_ARM64"
  end
  on_intel do
    url "RELEASE_URL/greeksd-VERSION-macos-x86_64.tar.gz"
    sha256 "SHA256_X86_64"
  end

  def install
    # on Intel bin/greeksd starts the build in lib that the processor can run
    prefix.install "bin", "share"
    prefix.install "lib" if File.directory?("lib")
    (buildpath/"greeksd.toml").write <<~TOML
      # Options of the service; greeksd --help lists all. After a change: brew services restart greeksd

      # the simulated market
      feed = "sim"

      # recorded chains of a folder
      # feed = "dir:/Users/me/market"
      # Cboe's delayed quotes
      # feed = "cboe:SPY,QQQ,_SPX"
    TOML
    (etc/"greeksd").install "greeksd.toml"
  end

  service do
    run [opt_bin/"greeksd", "serve", "--config", etc/"greeksd/greeksd.toml", "--state-dir", var/"greeksd",
         "--log-file", var/"log/greeksd.log"]
    keep_alive crashed: true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/greeksd --version")
    (testpath/"in.csv").write "id,style,right,s,k,t_years,r,b,sigma,divs\n1,european,call,100,100,1,0.05,0,0.2,\n"
    assert_match "10.45", shell_output("#{bin}/greeksd price in.csv")
  end
end
